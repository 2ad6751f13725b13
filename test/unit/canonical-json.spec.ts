import { canonicalJson } from '@countersign/contracts';
import type { JsonValue } from '@countersign/contracts';
import canonicalize from 'canonicalize';
import fc from 'fast-check';

it('the canonical form of any value is that of another implementation', () => {
  const text = fc.string({ unit: fc.constantFrom('\u0000', '\u001f', '"', '\\', '\u2028', 'ö', '€', '😂') });
  const value = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(text, text),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  fc.assert(
    fc.property(value, (one) => {
      expect(canonicalJson(one as JsonValue)).toBe(canonicalize(one));
    }),
  );
});
