import type { JsonSchema } from '@countersign/contracts';
import { personHeaders } from '../http/person-of-front-end.js';

function header(name: string, description: string, schema: JsonSchema, example: string): JsonSchema {
  return { name, in: 'header', required: false, description, schema, example };
}

const text = { type: 'string', minLength: 1 };

/**
 * The headers with which a front end names a person. No operation refers to them: a generated client would have four more
 * arguments for each operation, and a front end sets them once for each of its people.
 */
export const personParameters: Readonly<Record<string, JsonSchema>> = {
  Person: header(
    personHeaders.id,
    'Only with a token of the role `front-end`: the person for whom it speaks, as percent-encoded UTF-8, 1 to 256 characters. Their principal is that of the token, `#` and this id.',
    text,
    'kim%40example.com',
  ),
  PersonGroups: header(
    personHeaders.groups,
    'The groups of that person, separated by commas, each percent-encoded. The token must list them in `people.groups`.',
    { type: 'string' },
    'support, ops',
  ),
  PersonName: header(
    personHeaders.name,
    'What the person is called, as percent-encoded UTF-8. It is never compared.',
    text,
    'Kim%20Lee',
  ),
  PersonAssurance: header(
    personHeaders.assurance,
    'How sure the front end is of that person, at most the `people.maxAssurance` of the token. Default `low`.',
    { type: 'string', enum: ['low', 'medium'] },
    'medium',
  ),
};
