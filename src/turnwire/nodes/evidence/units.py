"""Units of measurement in English and Spanish: which words name one, and what they measure."""

import unicodedata
from typing import Final, NamedTuple


class Unit(NamedTuple):
    """What is measured, and how much one of it is; 2 weeks and 14 days are the same."""

    dimension: str
    factor: float


NONE: Final = Unit("", 1.0)

_LISTED: Final = """
minute 1/1440 minute minutes min mins minuto minutos
minute 1/24 hour hours hr hrs h hora horas
minute 1 day days dia dias
minute 7 week weeks semana semanas
month 1 month months mes meses
month 12 year years yr yrs ano anos
second 1 second seconds sec secs segundo segundos
mass 1/1000000 mcg µg μg microgram micrograms microgramo microgramos
mass 1/1000 mg milligram milligrams miligramo miligramos
mass 1 g gram grams gramo gramos gr
mass 1000 kg kilo kilos kilogram kilograms kilogramo kilogramos
volume 1 ml millilitre millilitres milliliter milliliters mililitro mililitros
volume 10 cl
volume 1000 l litre litres liter liters litro litros
length 1 cm centimetre centimetres centimeter centimeters centimetro centimetros
length 100000 km kilometre kilometres kilometer kilometers kilometro kilometros
share 1 % percent pct
celsius 1 °c ºc celsius
fahrenheit 1 °f ºf fahrenheit
degree 1 ° º degree degrees grado grados
pressure 1 mmhg
rate 1 bpm
energy 1 kcal calorie calories caloria calorias
dollar 1 $ usd dollar dollars dolar dolares
euro 1 € eur euro euros
pound 1 £ gbp
time 1 time times vez veces
glass 1 glass glasses vaso vasos
cup 1 cup cups taza tazas
tablet 1 tablet tablets pill pills capsule capsules pastilla pastillas comprimido comprimidos
dose 1 dose doses dosis
spoon 1 teaspoon teaspoons cucharadita cucharaditas
page 1 page pages pagina paginas
"""


def _read(listed: str) -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for line in listed.split("\n"):
        if line:
            dimension, factor, *names = line.split()
            upper, _, lower = factor.partition("/")
            unit = Unit(dimension, float(upper) / float(lower or 1))
            units |= dict.fromkeys(names, unit)
    return units


_UNITS: Final = _read(_LISTED)


def folded(text: str) -> str:
    """Return the text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFD", text.casefold())
    return "".join(each for each in decomposed if not unicodedata.combining(each))


def unit_of(word: str) -> Unit:
    """Return the unit that a word or sign names, or :data:`NONE`."""
    return _UNITS.get(folded(word), NONE)


def fits(one: Unit, other: Unit) -> bool:
    """Whether the two may stand for the same; an unnamed unit, or bare degrees, fit others."""
    if "" in (one.dimension, other.dimension) or one.dimension == other.dimension:
        return True
    degrees = {"degree", "celsius", "fahrenheit"}
    return {one.dimension, other.dimension} <= degrees and "degree" in (
        one.dimension,
        other.dimension,
    )
