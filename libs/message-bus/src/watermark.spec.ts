import fc from 'fast-check';
import { createWatermark } from './watermark.js';

describe('the watermark', () => {
  it('stands before the first unfinished position, also when later ones are finished', () => {
    const mark = createWatermark(0);
    const [one, two, three] = [mark.begin(1), mark.begin(2), mark.begin(3)];
    mark.pass(4);
    expect([mark.low(), mark.high()]).toEqual([0, 4]);
    two();
    three();
    expect(mark.low()).toBe(0);
    one();
    expect(mark.low()).toBe(4);
  });

  it('stands, after any endings in any order, exactly before the first one missing', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 40 }), fc.infiniteStream(fc.nat()), (wanted, order) => {
        const mark = createWatermark(0);
        const places = wanted.map((_, index) => index + 1);
        const ends = new Map<number, () => void>();
        wanted.forEach((isWanted, index) => {
          if (isWanted) ends.set(index + 1, mark.begin(index + 1));
          else mark.pass(index + 1);
        });
        while (ends.size > 0) {
          const first = places.find((place) => ends.has(place)) ?? 0;
          expect(mark.low()).toBe(first - 1);
          const open = [...ends.keys()];
          const chosen = open[order.next().value % open.length] ?? 0;
          ends.get(chosen)?.();
          ends.delete(chosen);
        }
        expect(mark.low()).toBe(wanted.length);
      }),
    );
  });
});
