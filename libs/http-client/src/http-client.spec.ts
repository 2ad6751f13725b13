import { expect, it } from '@jest/globals';
import { createHttpClient } from './http-client.js';

it('a body that is no JSON is an error at once, and not a server that is away', async () => {
  const client = createHttpClient({ base: 'http://fake.test', fetch: () => Promise.reject(new Error('it was sent')) });
  const sent = client.send({ method: 'POST', path: '/', body: { n: 1n }, again: () => 0 });
  await expect(sent).rejects.toThrow(TypeError);
});
