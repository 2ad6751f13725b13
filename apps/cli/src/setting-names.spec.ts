import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { unknownSettings, unusedByStandalone } from './setting-names.js';

it('tells a misspelt variable, what was meant, and no value', () => {
  expect(
    unknownSettings({ COUNTERSIGN_POLCY: 'secret.yaml', COUNTERSIGN_COLOUR: 'red', COUNTERSIGN_PORT: '1', PATH: '/' }),
  ).toEqual([
    'COUNTERSIGN_COLOUR is no setting of Countersign and has no effect',
    'COUNTERSIGN_POLCY is no setting of Countersign and has no effect; did you mean COUNTERSIGN_POLICY?',
  ]);
});

it('says that standalone does not use a variable of Kafka', () => {
  const env = { COUNTERSIGN_KAFKA_SASL_MECHANISM: 'plain', COUNTERSIGN_KAFKA_SSL: '', COUNTERSIGN_PORT: '1' };
  expect(unusedByStandalone(env)).toEqual([
    'COUNTERSIGN_KAFKA_SASL_MECHANISM has no effect: standalone uses no Kafka. Unset it, or start the roles of a cluster',
  ]);
});

it('knows every variable that the code reads', () => {
  const root = join(import.meta.dirname, '..', '..', '..');
  const files = globSync('{libs,apps,integrations}/*/src/**/*.ts', { cwd: root }).filter(
    (file) => !/\.spec\.ts$|testing/.test(file),
  );
  const names = files.flatMap(
    (file) => readFileSync(join(root, file), 'utf8').match(/COUNTERSIGN_[A-Z_]*[A-Z]\b/g) ?? [],
  );
  expect(names.length).toBeGreaterThan(100);
  const env = Object.fromEntries(
    names.filter((name) => !/^COUNTERSIGN_(OIDC|KAFKA_SASL)$/.test(name)).map((name) => [name, '']),
  );
  expect(unknownSettings(env)).toEqual([]);
});
