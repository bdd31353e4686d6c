"""How two values of one field are compared: one matcher a kind of field."""
