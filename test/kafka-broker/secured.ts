import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import type { Admin } from 'kafkajs';
import { createAuthority } from './certificates.ts';
import type { Authority } from './certificates.ts';
import { freePort } from '../ports.ts';
import { endNodes, startNodes } from './cluster.ts';
import { missingForJars } from './jars.ts';
import type { MoreSettings } from './node-process.ts';
import { grantDocumentedRights } from './rights.ts';
import type { NodeAddress } from './server-properties.ts';

/** How a user authenticates with a password. */
export interface PasswordUser {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

/** A broker that requires TLS and authentication, and denies everything that is not granted. */
export interface SecuredBroker {
  /** Wants a certificate of its authority: the principal is the certificate's name. */
  readonly byCertificate: readonly string[];
  /** Wants a password. */
  readonly byPassword: readonly string[];
  readonly authority: Authority;
  readonly userOf: (name: string) => PasswordUser;
  /** Runs an operation as the superuser. */
  readonly administrate: <T>(work: (admin: Admin) => Promise<T>) => Promise<T>;
  /** Grants every principal of docs/kafka.md its listed rights on these topics. */
  readonly grantDocumentedRights: (topicPrefix: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const admin = 'admin';
/** The users by mechanism. */
const mechanismOf: Readonly<Record<string, PasswordUser['mechanism']>> = {
  [admin]: 'plain',
  worker: 'plain',
  ledger: 'plain',
  operator: 'plain',
  relay: 'scram-sha-256',
  projector: 'scram-sha-256',
  resolver: 'scram-sha-512',
  notifier: 'scram-sha-512',
  notary: 'scram-sha-512',
  'my-notifier': 'scram-sha-512',
};

/** Starts one, from the jars. Its keys and passwords are generated now, and deleted with it. */
export async function startSecuredBroker(): Promise<SecuredBroker> {
  const missing = await missingForJars();
  if (missing !== undefined) throw new Error(`a broker with TLS needs Java 17 or newer and Maven: ${missing}`);
  const keys = mkdtempSync(join(tmpdir(), 'countersign-kafka-keys-'));
  const authority = createAuthority(keys);
  const users = Object.entries(mechanismOf).map(([username, mechanism]) => ({
    ...{ username, mechanism, password: randomBytes(12).toString('hex') },
  }));
  const passwordPort = await freePort();
  const { nodes, folder } = await startNodes(1, (node) => secured(node, passwordPort, keys, authority, users));
  const byPassword = [`127.0.0.1:${passwordPort}`];
  const userOf = (name: string): PasswordUser => {
    const user = users.find(({ username }) => username === name);
    if (user === undefined) throw new Error(`there is no user ${name}`);
    // A copy for each client: kafkajs keeps in it how it signs in.
    return { ...user };
  };
  const administrate: SecuredBroker['administrate'] = async (work) => {
    const { username, password } = userOf(admin);
    const client = new kafkajs.Kafka({
      brokers: byPassword,
      ssl: { ca: authority.ca },
      sasl: { mechanism: 'plain', username, password },
      logLevel: kafkajs.logLevel.NOTHING,
    }).admin();
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.disconnect();
    }
  };
  return {
    ...{ byPassword, byCertificate: [nodes[0]!.address], authority, userOf, administrate },
    grantDocumentedRights: (topicPrefix) => administrate((client) => grantDocumentedRights(client, topicPrefix)),
    stop: async () => {
      await endNodes(nodes, folder, 'SIGKILL');
      rmSync(keys, { recursive: true, force: true });
    },
  };
}

function secured(
  node: NodeAddress,
  passwordPort: number,
  keys: string,
  authority: Authority,
  users: readonly PasswordUser[],
): MoreSettings {
  const own = authority.certify('broker');
  const keystore = join(keys, 'broker-keystore.pem');
  writeFileSync(keystore, `${own.key}${own.cert}`, { mode: 0o600 });
  const listeners = `SSL://127.0.0.1:${node.port},SASL_SSL://127.0.0.1:${passwordPort}`;
  const plain = users.filter(({ mechanism }) => mechanism === 'plain');
  const module = 'org.apache.kafka.common.security';
  const scram = `${module}.scram.ScramLoginModule required;`;
  return {
    settings: {
      listeners: `${listeners},CONTROLLER://127.0.0.1:${node.controllerPort}`,
      'advertised.listeners': listeners,
      'listener.security.protocol.map': 'SSL:SSL,SASL_SSL:SASL_SSL,CONTROLLER:SSL',
      'inter.broker.listener.name': 'SSL',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keystore,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': authority.caFile,
      'ssl.client.auth': 'required',
      'ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/',
      'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
      'listener.name.sasl_ssl.plain.sasl.jaas.config': `${module}.plain.PlainLoginModule required ${plain
        .map(({ username, password }) => `user_${username}="${password}"`)
        .join(' ')};`,
      'listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config': scram,
      'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config': scram,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // The broker itself, by its certificate.
      'super.users': `User:broker;User:${admin}`,
    },
    scramUsers: users
      .filter(({ mechanism }) => mechanism !== 'plain')
      .map(({ mechanism, username, password }) => `${mechanism.toUpperCase()}=[name=${username},password=${password}]`),
  };
}
