"""A server whose members sign in."""

from pathlib import Path

import httpx
from fastapi import FastAPI

from tests.server.answering import Members
from tests.server.running import Api, eventually
from tests.sign_in.signing import KNOWN, letters
from tests.sign_in.signing import Members as Known
from turnwire.app import create


class SigningIn(Members):
    """Serves members whom a directory knows."""

    def __init__(self, data_dir: Path, **settings: object) -> None:
        self.directory = Known()
        super().__init__(data_dir, **{"sign_in_codes": 1000, **settings})

    def application(self) -> FastAPI:
        return create(self.settings, directory=self.directory)

    def letter(self, before: int) -> dict[str, str]:
        """Return the code that was sent after so many others."""
        return eventually(lambda: letters(self.data_dir)[before:])[0]

    def code(self, api: Api, mobile: str = KNOWN) -> str:
        """Ask for a code and return it."""
        before = len(letters(self.data_dir))
        assert api.http.post("/auth/login", json={"mobile": mobile}).status_code == 202
        return self.letter(before)["code"]

    def signed_in(self) -> Api:
        """Return a member who is signed in."""
        api = self.api("chat")
        answer = verify(api, self.code(api))
        assert answer.status_code == 200, answer.text
        return api


def verify(api: Api, code: str, mobile: str = KNOWN) -> httpx.Response:
    return api.http.post("/auth/verify", json={"mobile": mobile, "code": code})
