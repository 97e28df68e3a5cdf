"""Metrics as Prometheus reads them."""

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    """Return our samples by name and labels, without the times when they were created."""
    return {
        (each.name, frozenset(each.labels.items())): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
        if each.name.startswith("turnwire_") and not each.name.endswith("_created")
    }


def value(found: Samples, name: str, **labels: str) -> float | None:
    """Return one sample's value, or none where there is no such sample."""
    return found.get((name, frozenset(labels.items())))
