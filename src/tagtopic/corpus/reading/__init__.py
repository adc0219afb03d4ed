"""From files and data frames to documents: one module a format, all giving records or rows to `read`."""
