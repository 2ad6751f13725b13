import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { anyRole, templateOf } from './route.js';
import { allRoutes } from './routes.js';
import { createTokens } from './tokens.js';

const guide = readFileSync(join(import.meta.dirname, '../../../docs/people.md'), 'utf8');

it('the guide to people says which role may send which request', () => {
  const rows = [...guide.matchAll(/^\| `([A-Z]+ \/[^`]*)` \| (.+) \|$/gm)].map(
    ([, request, who]) => `${String(request)}: ${String(who)}`,
  );
  const expected = allRoutes.flatMap((route) => {
    if (route.roles === 'public') return [];
    const who = route.roles.length === anyRole.length ? 'every role' : route.roles.join(', ');
    return [`${route.method} ${templateOf(route)}: ${who}`];
  });
  expect(rows).toEqual(expected);
});

it('the guide to people shows a tokens file that can be used', () => {
  const [, example = ''] = /```json\n([^]*?)```/.exec(guide) ?? [];
  const tokens = createTokens(JSON.parse(example));
  expect(tokens.grants({ tenant: 'default', principal: 'alice' }, 'approver')).toBe(true);
  expect(tokens.actorOf('cs_change-me', 'api')?.owner).toBe('alice');
});
