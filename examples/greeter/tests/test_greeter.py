import unittest

from greeter import greet, greet_all


class GreetingTest(unittest.TestCase):
    def test_a_name_is_greeted(self):
        self.assertEqual(greet("Ada"), "Hello, Ada!")

    def test_nobody_is_a_stranger(self):
        self.assertEqual(greet("  "), "Hello, stranger!")

    def test_everybody_is_greeted_in_order(self):
        self.assertEqual(greet_all(["Ada", "Grace"]), ["Hello, Ada!", "Hello, Grace!"])


if __name__ == "__main__":
    unittest.main()
