import { readCompose } from './compose-file.js';
import { imagesOf, isPinned, proxyProblems } from './image-and-proxy-rules.js';

/** The three files that say how the cluster is put together. */
export interface DeploymentFiles {
  readonly compose: string;
  readonly proxy: string;
  readonly dockerfile: string;
}

interface Service {
  readonly image: string;
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
}

interface Document {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks?: Readonly<Record<string, { readonly internal?: boolean } | null>>;
}

type Problems = readonly string[];

const roles = ['gateway-1', 'gateway-2', 'ledger', 'relay', 'projector', 'resolver', 'notifier'];
/** They record decisions. */
const writers = roles.filter((name) => name !== 'relay');
/** They read what is stored, and need no keys. */
const notaries = ['notary-1', 'notary-2'];
const keeperUrl = 'https://keeper:7443';
const notaryUrls = notaries.map((name) => `https://${name}:7444`).join();
/** Each service that authenticates to Kafka, and its user. */
const kafkaUsers: Readonly<Record<string, string>> = {
  ledger: 'ledger',
  relay: 'relay',
  projector: 'projector',
  resolver: 'resolver',
  notifier: 'notifier',
  'notary-1': 'notary',
  'notary-2': 'notary',
  rights: 'admin',
  topics: 'operator',
};

/** Each rule of a safe default, by name, with the problems that it finds. */
const rules: Readonly<Record<string, (document: Document, files: DeploymentFiles) => Problems>> = {
  'the event store is reachable by our roles alone': ({ services, networks }) => [
    ...(networks?.['store']?.internal === true ? [] : ['the network store is not internal']),
    ...unless('on the network store', on(services, 'store'), [...roles, ...notaries, 'keeper', 'eventstore']),
    ...unless('networks of the event store', services['eventstore']?.networks ?? [], ['store']),
    ...(services['eventstore']?.ports ?? []).map((port) => `the event store publishes ${port}`),
  ],
  'the keys are with the keeper alone, which has no way out': ({ services }) => [
    ...unless('networks of the keeper', services['keeper']?.networks ?? [], ['store']),
    ...(services['keeper']?.ports ?? []).map((port) => `the keeper publishes ${port}`),
    ...unless('services with the volume of the keys', withVolume(services, 'keys'), ['keeper']),
    ...unless('services with a folder of keys', withSetting(services, 'COUNTERSIGN_KEYS_FOLDER'), ['keeper']),
  ],
  'the log key is with the notaries alone, and each role that writes asks them over TLS': ({ services }) => [
    ...unless('services with a log key', withSetting(services, 'COUNTERSIGN_LOG_KEY_FILE'), notaries),
    ...unless('services that ask', withSetting(services, 'COUNTERSIGN_NOTARY_URL'), writers),
    ...notaries.flatMap((name) => (services[name]?.ports ?? []).map((port) => `${name} publishes ${port}`)),
    ...writers.flatMap((name) => different(services[name]?.environment ?? {}, 'COUNTERSIGN_NOTARY_URL', notaryUrls)),
  ],
  'every role that needs values borrows keys, over TLS': ({ services }) => [
    ...unless('services that borrow keys', withSetting(services, 'COUNTERSIGN_KEEPER_URL'), roles),
    ...roles.flatMap((role) => different(services[role]?.environment ?? {}, 'COUNTERSIGN_KEEPER_URL', keeperUrl)),
  ],
  'workers reach Kafka and the proxy alone': ({ services }) =>
    unless('on the network workers', on(services, 'workers'), ['kafka', 'proxy']),
  'every service names its networks': ({ services }) =>
    Object.entries(services)
      .filter(([, { networks, network_mode }]) => networks === undefined && network_mode !== 'none')
      .map(([name]) => `${name} is on the default network`),
  'every port is published on this machine alone': ({ services }) =>
    Object.values(services)
      .flatMap(({ ports = [] }) => ports)
      .filter((port) => !port.startsWith('127.0.0.1:')),
  'Kafka asks for a password on every listener': ({ services }) => kafkaListenerProblems(services),
  'Kafka allows what was granted, and nothing else': ({ services }) => {
    const { environment = {} } = services['kafka'] ?? {};
    return [
      ...different(
        environment,
        'KAFKA_AUTHORIZER_CLASS_NAME',
        'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      ),
      ...different(environment, 'KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND', 'false'),
      ...different(environment, 'KAFKA_SUPER_USERS', 'User:broker;User:admin'),
    ];
  },
  'each process signs in as itself': ({ services }) => userProblems(services),
  'no password is in the file': ({ services }) =>
    Object.values(services).flatMap(({ environment = {} }) =>
      Object.entries(environment)
        .filter(([name, value]) =>
          /PASSWORD|SECRET|JAAS|TOKEN|KEY_FILE/.test(name) ? !isPath(value) : /password=|\/\/[^/]*:[^/]*@/i.test(value),
        )
        .map(([name]) => `${name} is no path of a file`),
    ),
  'requests on Kafka are signed': ({ services }) => {
    const { environment = {}, volumes = [] } = services['ledger'] ?? {};
    const keys = environment['COUNTERSIGN_REQUESTS_KEYS'] ?? '';
    const isMounted = volumes.some((volume) => keys.startsWith(`${volume.split(':')[1] ?? ''}/`));
    return [
      ...different(environment, 'COUNTERSIGN_REQUESTS_UNSIGNED', 'refuse'),
      ...(isMounted ? [] : [`the ledger does not see ${keys}`]),
    ];
  },
  'images have a version': ({ services }, { dockerfile }) =>
    [...Object.values(services).map(({ image }) => image), ...imagesOf(dockerfile)].filter((image) => !isPinned(image)),
  'the proxy keeps operations inside': (_, { proxy }) => proxyProblems(proxy),
};

/** The names of all rules. */
export const ruleNames: readonly string[] = Object.keys(rules);

/** The rules that these files break, each with what it found. */
export function brokenRules(files: DeploymentFiles): Readonly<Record<string, Problems>> {
  const { document } = readCompose({}, files.compose) as { readonly document: Document };
  return Object.fromEntries(
    Object.entries(rules)
      .map(([name, rule]) => [name, rule(document, files)] as const)
      .filter(([, problems]) => problems.length > 0),
  );
}

function kafkaListenerProblems(services: Document['services']): Problems {
  const { environment = {} } = services['kafka'] ?? {};
  const listeners = (environment['KAFKA_LISTENERS'] ?? '').split(',');
  const protocols = new Map(
    (environment['KAFKA_LISTENER_SECURITY_PROTOCOL_MAP'] ?? '')
      .split(',')
      .map((pair) => pair.split(':') as [string, string]),
  );
  return [
    ...listeners
      .map((listener) => listener.split('://')[0] ?? '')
      .filter((name) => protocols.get(name) !== 'SASL_PLAINTEXT' && protocols.get(name) !== 'SASL_SSL')
      .map((name) => `the listener ${name} asks for no password`),
    // Peers of the controller could change the rights.
    ...listeners
      .filter((listener) => listener.startsWith('CONTROLLER://') && !listener.startsWith('CONTROLLER://127.0.0.1:'))
      .map((listener) => `${listener} is reachable from other containers`),
  ];
}

function userProblems(services: Document['services']): Problems {
  return Object.entries(services).flatMap(([name, { environment = {}, volumes = [] }]) => {
    const user = kafkaUsers[name];
    const mounted = volumes
      .map((volume) => volume.split(':')[0] ?? '')
      .filter((source) => source.startsWith('credentials-'));
    if (name === 'credentials') return [];
    const own = user === undefined ? (ownOthers[name] ?? []) : [`credentials-${user}`];
    const extra = name === 'ledger' ? ['credentials-requests'] : [];
    return [
      ...unless(`the credentials that ${name} sees`, mounted, [...own, ...extra]),
      ...(user === undefined ? [] : different(environment, 'COUNTERSIGN_KAFKA_SASL_USERNAME', user)),
    ];
  });
}

/** Services that hold credentials and are no client of Kafka. */
const ownOthers: Readonly<Record<string, readonly string[]>> = {
  kafka: ['credentials-kafka'],
  keeper: ['credentials-keeper'],
  'gateway-1': ['credentials-gateway'],
  'gateway-2': ['credentials-gateway'],
  'show-credentials': ['credentials-worker'],
};

function on(services: Document['services'], network: string): readonly string[] {
  return Object.entries(services)
    .filter(([, { networks = [] }]) => networks.includes(network))
    .map(([name]) => name);
}

function withVolume(services: Document['services'], volume: string): readonly string[] {
  return Object.entries(services)
    .filter(([, { volumes = [] }]) => volumes.some((mount) => mount.startsWith(`${volume}:`)))
    .map(([name]) => name);
}

function withSetting(services: Document['services'], setting: string): readonly string[] {
  return Object.entries(services)
    .filter(([, { environment = {} }]) => environment[setting] !== undefined)
    .map(([name]) => name);
}

function unless(what: string, found: readonly string[], wanted: readonly string[]): Problems {
  const isSame = found.toSorted().join() === wanted.toSorted().join();
  return isSame ? [] : [`${what}: ${found.join(', ')}`];
}

function different(environment: Readonly<Record<string, string>>, name: string, wanted: string): Problems {
  return environment[name] === wanted ? [] : [`${name} is ${String(environment[name])}`];
}

function isPath(value: string): boolean {
  return value === '' || value.startsWith('/');
}
