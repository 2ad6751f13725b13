import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { composeVariables, exampleSettings, readCompose } from './compose-file.js';

const root = join(import.meta.dirname, '..', '..', '..');

/** The Compose Specification's own schema, as the package `docker-compose` carries it. */
function composeSchema(): object {
  const folder = dirname(createRequire(import.meta.url).resolve('docker-compose/package.json'));
  const text = readFileSync(join(folder, 'schema', 'compose-spec.json'), 'utf8');
  // Ajv knows this draft under another URI.
  const { $schema: _draft, ...schema } = JSON.parse(text) as { $schema: string };
  return schema;
}

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly restart?: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly healthcheck?: { readonly disable?: boolean; readonly test?: unknown; readonly start_period?: string };
  readonly deploy?: { readonly resources?: { readonly limits?: { readonly cpus?: string; readonly memory?: string } } };
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
}

const { document } = readCompose();
const { services, volumes } = document as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const ours = Object.entries(services).filter(([, { image }]) => image === 'countersign:local');

describe('the compose file', () => {
  test('is what the Compose Specification allows', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
    const isValid = ajv.compile(composeSchema());
    isValid(document);
    expect(isValid.errors).toBeNull();
    // The schema bites: it was once seen to pass over everything.
    isValid({ services: { a: { image: 'b', restrat: 'always' } } });
    expect(isValid.errors).not.toBeNull();
  });

  test('gives the limit of requests to the gateways and ledgers, which enforce it, and to nothing else', () => {
    const limited = readCompose().services.filter(
      ({ environment }) => environment['COUNTERSIGN_REQUESTS_PER_SECOND'] !== undefined,
    );
    expect(limited.map(({ name }) => name).toSorted()).toEqual(['gateway-1', 'gateway-2', 'ledger']);
  });

  test('gives the variables of the channels and of the tools to the services that read these files, and to no other', () => {
    const { services: all } = readCompose({ COUNTERSIGN_CHANNELS: 'channels.yaml', COUNTERSIGN_TOOLS: 'tools.yaml' });
    for (const [file, setting] of [
      ['channels.env', 'COUNTERSIGN_CHANNELS'],
      ['tools.env', 'COUNTERSIGN_TOOLS'],
    ] as const) {
      const given = all.filter(({ envFiles }) => envFiles.includes(file)).map(({ name }) => name);
      const reading = all.filter(({ environment }) => (environment[setting] ?? '') !== '').map(({ name }) => name);
      expect(given.toSorted()).toEqual(reading.toSorted());
      expect(given.length).toBeGreaterThan(2);
    }
  });

  test('has an example of channels.env with every variable that the guide names', () => {
    const guide = readFileSync(join(root, 'docs', 'channels.md'), 'utf8');
    const written = [...guide.matchAll(/\{ env: ([A-Z_]+) \}/g)].map(([, name = '']) => name);
    const named = written.filter((name) => name !== 'NAME');
    const example = parseEnv(readFileSync(join(root, 'channels.env.example'), 'utf8'));
    expect(named.length).toBeGreaterThan(4);
    expect(Object.keys(example)).toEqual(expect.arrayContaining(named));
    expect(new Set(Object.values(example))).toEqual(new Set(['']));
  });

  test('starts every role, those that share their work twice', () => {
    const started = readCompose()
      .services.filter(({ command }) => command[0] === 'start')
      .flatMap(({ command, replicas }) => Array.from({ length: replicas }, () => command[1]));
    expect(started.toSorted()).toEqual(
      ['gateway', 'ledger', 'relay', 'resolver']
        .flatMap((role) => [role, role])
        .concat('projector', 'notifier', 'notary', 'notary', 'keeper')
        .toSorted(),
    );
  });

  test('depends on nothing, and mounts nothing, that it does not have', () => {
    for (const service of Object.values(services)) {
      const needed = Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on ?? {});
      expect(Object.keys(services)).toEqual(expect.arrayContaining([...(needed as string[])]));
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('./')) expect([source, existsSync(join(root, source))]).toEqual([source, true]);
        else expect(Object.keys(volumes)).toContain(source);
      }
    }
  });

  test('mounts each volume of credentials where the image has a folder of its user', () => {
    // A volume that is mounted elsewhere belongs to root, and nothing can be made in it.
    const folders = (services['credentials']?.volumes ?? []).flatMap((volume) => {
      const [source = '', target = ''] = volume.split(':');
      return source.startsWith('./') ? [] : [target];
    });
    const [, made = ''] =
      /install [^&]*--mode=0700 (.*?)\nUSER/s.exec(readFileSync(join(root, 'Dockerfile'), 'utf8')) ?? [];
    expect(folders.length).toBeGreaterThan(10);
    expect(made.split(/[\s\\]+/)).toEqual(expect.arrayContaining([...folders, '/keys']));
  });

  test('bounds every service, and looks after those that run on', () => {
    for (const [name, service] of Object.entries(services)) {
      const limits = service.deploy?.resources?.limits;
      expect([name, typeof limits?.cpus, typeof limits?.memory]).toEqual([name, 'string', 'string']);
      expect(service.restart).toMatch(/^(unless-stopped|on-failure:\d+|no)$/);
      const isAsked = service.healthcheck?.test !== undefined && service.healthcheck.disable !== true;
      expect([name, isAsked]).toEqual([name, service.restart === 'unless-stopped' && name !== 'proxy']);
    }
    for (const [name, service] of ours) expect([name, service.read_only]).toEqual([name, true]);
    expect(readFileSync(join(root, 'Dockerfile'), 'utf8')).toMatch(/^USER node$/m);
  });

  test('gives the keeper an hour to read the whole log before it is ready, and checks it like the other roles', () => {
    const role = services['ledger']?.healthcheck;
    expect(role?.start_period).toBe('60s');
    expect(services['keeper']?.healthcheck).toEqual({ ...role, start_period: '60m' });
  });

  test('is explained by .env.example, which has its defaults', () => {
    expect(exampleSettings()).toEqual(composeVariables());
  });

  test('builds the inbox and the command line into the image, with what the bundler needs', () => {
    const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').split('\n');
    const nth = (start: string): number => lines.findIndex((line) => line.startsWith(start));
    expect(lines).toContain('RUN npm run build --workspace apps/inbox --workspace apps/cli');
    expect(nth('RUN npm ci')).toBeLessThan(nth('RUN npm run build --workspace apps/inbox --workspace apps/cli'));
    expect(nth('RUN npm run build --workspace apps/inbox --workspace apps/cli')).toBeLessThan(nth('RUN npm prune'));
    // Its native part is an optional package: what is left out too early is missed by the bundler.
    expect(lines[nth('RUN npm ci')]).not.toContain('--omit=optional');
  });

  test('returns a browser from the sign-in provider to the gateway that started the sign-in', () => {
    // Browsers withhold a strict cookie on the way from another site, and the other gateway does not know the sign-in.
    const cookies = readFileSync(join(root, 'deploy', 'haproxy.cfg'), 'utf8').match(/^ *cookie .*$/gm);
    expect(cookies).toEqual([expect.stringContaining('attr "SameSite=Lax"')]);
  });
});
