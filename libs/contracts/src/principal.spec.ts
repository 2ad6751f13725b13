import { describe, expect, it } from '@jest/globals';
import { isReservedPrincipal, principalSchema } from './principal.js';

describe('a principal', () => {
  it.each(['countersign', 'countersign-resolver', 'policy', 'operator', ' Policy ', 'COUNTERSIGN-x'])(
    'is refused where it is the reserved name "%s"',
    (name) => {
      expect(isReservedPrincipal(name)).toBe(true);
      const problems = principalSchema.safeParse(name).error?.issues.map(({ message }) => message);
      expect(problems).toContainEqual(expect.stringContaining('choose another'));
    },
  );

  it.each(['agent', 'countersigner', 'policy-team', 'kafka'])('may be "%s"', (name) => {
    expect(isReservedPrincipal(name)).toBe(false);
    expect(principalSchema.safeParse(name).success).toBe(true);
  });
});
