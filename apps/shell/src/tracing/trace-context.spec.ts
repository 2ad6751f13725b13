import fc from 'fast-check';
import { parseTraceparent, toTraceparent } from './trace-context.js';

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
const valid = `00-${traceId}-${spanId}-01`;

it('names the span of a valid header, and writes it in the same way', () => {
  const span = parseTraceparent(valid);
  expect(span).toEqual({ traceId, spanId, traceFlags: 1, isRemote: true });
  expect(span && toTraceparent(span)).toBe(valid);
});

it('takes the last of two values, which an instrumentation of fetch has added', () => {
  const added = `00-${traceId}-00f067aa0ba902b7-01`;
  expect(parseTraceparent(`${valid}, ${added}`)?.spanId).toBe('00f067aa0ba902b7');
});

it('passes on no flag besides the one for sampling', () => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-ff`)?.traceFlags).toBe(1);
  expect(parseTraceparent(`00-${traceId}-${spanId}-fe`)?.traceFlags).toBe(0);
});

it('ignores what is malformed', () => {
  const malformed = [
    undefined,
    [valid],
    '',
    valid.toUpperCase(),
    `${valid}-more`,
    `01-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `${'x'.repeat(10_000)},${valid}`,
  ];
  for (const header of malformed) expect(parseTraceparent(header)).toBeUndefined();
});

const nearlyValid = fc
  .tuple(fc.nat(valid.length), fc.string({ unit: 'binary' }), fc.nat(4))
  .map(([at, text, cut]) => valid.slice(0, at) + text + valid.slice(at + cut));

it('makes nothing but a canonical value of any header, however it is malformed', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), nearlyValid), (header) => {
      const span = parseTraceparent(header);
      return span === undefined || /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/.test(toTraceparent(span));
    }),
    { numRuns: 2000 },
  );
});
