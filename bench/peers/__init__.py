"""The servers that turnwire is measured against."""
