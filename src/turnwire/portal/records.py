"""What the portal keeps of its members, their plans and their claims; all of it is made up."""

from datetime import date
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """Frozen, and without fields that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Benefit(Record):
    """One benefit of a plan; amounts are whole pounds."""

    benefit_id: str
    name: str
    """Also the heading of its section in the plan's policy wording."""
    covered: bool = True
    limit: int | None = None
    """How much in a period; none: no limit of its own."""
    unit: Literal["GBP", "days", "sessions"] = "GBP"
    per: Literal["year", "pregnancy", "trip"] = "year"
    copay_percent: int = Field(default=0, ge=0, le=100)
    """The member's share of each bill."""
    waiting_months: int = Field(default=0, ge=0)
    """From the start of the cover."""


class Plan(Record):
    """What can be bought."""

    plan_id: str
    name: str
    annual_limit: int
    excess: int
    """What the member pays first in a year, for hospital, day care and emergencies abroad."""
    monthly_premium: int
    currency: Literal["GBP"] = "GBP"
    benefits: tuple[Benefit, ...]


class Address(Record):
    """Where a member lives."""

    line1: str
    line2: str | None = None
    city: str
    postcode: str
    country: str


class Step(Record):
    """Something that happened to a claim."""

    at: date
    status: Literal[
        "submitted", "in_review", "needs_information", "paid", "partly_paid", "declined"
    ]
    note: str | None = None


class Claim(Record):
    """A bill that a member sent in; amounts are whole pounds."""

    reference: str
    benefit_id: str
    treatment: str
    provider: str
    treated_on: date
    claimed: int
    paid: int | None = None
    """None while it is undecided."""
    currency: Literal["GBP"] = "GBP"
    history: tuple[Step, ...] = Field(min_length=1)
    """The last step is how it stands."""


class Document(Record):
    """A document that the member may ask for; where it is read is not said here."""

    document_id: str
    title: str
    kind: Literal["policy_wording", "membership_card", "statement", "claim_letter"]
    language: Literal["en", "es"]
    issued_on: date


class Member(Record):
    """One member with all that is theirs."""

    member_number: str
    name: str
    mobile: str
    """E.164, of the numbers that Ofcom keeps for drama."""
    email: str
    address: Address
    plan_id: str
    started_on: date
    renews_on: date
    people_covered: tuple[str, ...]
    used: dict[str, int] = Field(default_factory=dict[str, int])
    """How much of each benefit's limit is used up in this period, by the benefit's id."""
    claims: tuple[Claim, ...] = ()
    documents: tuple[Document, ...] = ()


class Supplier(Record):
    """Who delivers."""

    supplier: str
    name: str
    city: str


class OrderItem(Record):
    """One line of a purchase order."""

    order: str
    item: str
    material: str
    quantity: int
    price: int
    """Whole pounds for one."""
    delivered: bool = False


class PurchaseOrder(Record):
    """What is bought from a supplier; nothing is delivered before it is released."""

    order: str
    supplier: str
    amount: int
    """Whole pounds."""
    currency: Literal["GBP"] = "GBP"
    created_on: date
    status: Literal["blocked", "released"] = "blocked"


class Desk(Record):
    """The order desk: who may use it, and what lies on it."""

    readers: tuple[str, ...]
    """Staff who may read tables; `*` stands for any characters."""
    buyers: tuple[str, ...]
    """Staff who may release orders."""
    suppliers: tuple[Supplier, ...]
    purchase_orders: tuple[PurchaseOrder, ...]
    order_items: tuple[OrderItem, ...]


class Seed(Record):
    """Everything that an empty database begins with."""

    plans: tuple[Plan, ...]
    members: tuple[Member, ...]
    desk: Desk


def seed() -> Seed:
    """Return the plans and members that ship."""
    text = (files("turnwire.portal") / "seed.yaml").read_text("utf-8")
    return Seed.model_validate(yaml.safe_load(text))
