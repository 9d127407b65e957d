"""What stands between the network and the page: who may ask, under which name, how much, and what answers carry."""
