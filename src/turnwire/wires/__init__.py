"""How clients hear a turn: what is said, apart from how it is framed."""
