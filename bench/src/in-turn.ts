/** Another one begins each time, and every second time they go backwards: nobody always follows the same one. */
export function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const first = round % items.length;
  const order = [...items.slice(first), ...items.slice(0, first)];
  return round % 2 === 0 ? order : order.reverse();
}
