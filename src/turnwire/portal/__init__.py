"""The demo portal: the upstream of the member agent, where nobody has a real one."""
