import { describe, expect, it } from '@jest/globals';
import { groupSchema, lookalikeProblem } from './names.js';
import { principalSchema } from './principal.js';

describe('the name of a person or a group', () => {
  it.each([
    ['ali\u200bce', 'U+200B'],
    ['alice\u00ad', 'U+00AD'],
    ['\u202ealice', 'U+202E'],
    ['alice\ufe0f', 'U+FE0F'],
    ['alice\u3164', 'U+3164'],
    ['alice\u2800', 'U+2800'],
    ['alice\ufffc', 'U+FFFC'],
    ['alice\u{1d159}', 'U+1D159'],
    ['\u{e0041}alice', 'U+E0041'],
    ['\uff41lice', 'write it as "alice"'],
    ['Zoe\u0308', 'write it as "Zo\u00eb"'],
    ['alice\u00a0smith', 'write it as "alice smith"'],
    [' alice', 'begins or ends with a blank'],
  ])('is refused where it could look like another one: %j', (name, problem) => {
    expect(lookalikeProblem(name)).toContain(problem);
    for (const schema of [principalSchema, groupSchema]) {
      expect(schema.safeParse(name).error?.issues[0]?.message).toContain(problem);
    }
  });

  it.each(['alice', 'Zo\u00eb', 'alice smith', 'https://id.example.com#1234', '\u5f20\u4f1f', 'on-call (EU)'])(
    'may be %s',
    (name) => {
      expect(lookalikeProblem(name)).toBeUndefined();
      for (const schema of [principalSchema, groupSchema]) expect(schema.safeParse(name).success).toBe(true);
    },
  );
});
