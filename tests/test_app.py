"""The composition root gives each part the rules that it works by."""

from importlib.resources import files
from pathlib import Path

from turnwire import app
from turnwire.settings import read
from turnwire.telemetry.metrics import Metrics

MAIL = "Write to ada@example.test."


def test_a_span_keeps_of_a_text_what_the_policy_lets_it_keep(tmp_path: Path):
    shipped = (files("turnwire") / "policies" / "docs.yaml").read_text()
    assert "log: redact" in shipped
    policy = tmp_path / "policy.yaml"
    policy.write_text(shipped.replace("log: redact", "log: block"))

    served = app.load_served(read(data_dir=tmp_path, policy=str(policy)), Metrics())

    assert served.index is not None
    served.index.close()
    assert served.pii.log_text(MAIL) == "[EMAIL]"


def test_a_graph_of_ones_own_has_its_spans_redacted_by_default():
    assert app.Served().pii.log_text(MAIL) == "Write to [EMAIL]."
