"""Reading files of others strictly: lines, fields, and datasets of the hub."""
