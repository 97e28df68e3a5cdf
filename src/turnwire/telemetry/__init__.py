"""What operators read: log lines, metrics and spans, without anybody's words."""
