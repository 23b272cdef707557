"""What a Robot is made of: its file, configuration space, contact points and shapes, and checks of them."""
