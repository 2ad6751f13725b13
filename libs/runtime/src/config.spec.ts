import { inspect } from 'node:util';
import { z } from 'zod';
import { ConfigError, readConfig, Secret } from './config.js';

const schema = z.object({
  COUNTERSIGN_PORT: z.coerce.number().int().min(1).default(7400),
  COUNTERSIGN_LOG_LEVEL: z.enum(['debug', 'info']).default('info'),
  COUNTERSIGN_TOKEN: z.string().min(8),
});

describe('the configuration', () => {
  it('takes defaults for what is not set or empty', () => {
    const config = readConfig(schema, { COUNTERSIGN_PORT: '', COUNTERSIGN_TOKEN: 'long enough', PATH: '/bin' });
    expect(config).toMatchObject({ COUNTERSIGN_PORT: 7400, COUNTERSIGN_LOG_LEVEL: 'info' });
  });

  it('reports every problem at once, by variable, without the values', () => {
    const read = (): unknown => readConfig(schema, { COUNTERSIGN_PORT: 'http', COUNTERSIGN_LOG_LEVEL: 'loud' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/COUNTERSIGN_PORT: .*\n.*COUNTERSIGN_LOG_LEVEL: .*\n.*COUNTERSIGN_TOKEN: must be set/);
    expect(read).not.toThrow(/loud/);
  });

  it('reports what concerns no single variable', () => {
    const together = schema.refine(() => false, 'these do not go together');
    expect(() => readConfig(together, { COUNTERSIGN_TOKEN: 'long enough' })).toThrow(
      'environment: these do not go together',
    );
  });

  it('has secrets that are never printed', () => {
    const token = new Secret('long enough');
    expect(token.reveal()).toBe('long enough');
    expect(`${String(token)} ${JSON.stringify({ token })} ${inspect(token)}`).toBe(
      '[secret] {"token":"[secret]"} [secret]',
    );
  });
});
