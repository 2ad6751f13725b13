/**
 * The results of `work` for each item, in the order of the items, with at most `count` pieces of work at once. After a
 * failure no further piece begins, and the promise rejects with it.
 */
export async function sideBySide<Item, Result>(
  items: readonly Item[],
  count: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    for (const [index, item] of left) {
      try {
        results[index] = await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
      if (hasFailed) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, lane));
  return results;
}
