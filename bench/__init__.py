"""How fast, how small: turnwire beside what one would write instead. See README.md."""
