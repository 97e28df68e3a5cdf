"""Signing members in: who knows them, how a code reaches them, how their credential is kept."""
