import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import type { ChannelCredentials, ServiceError } from '@grpc/grpc-js';
import { readTextFile } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import type { TimeAnswer } from '../measured-clock.js';
import { areSame } from './connection-string.js';
import type { Endpoint, StoreAddress } from './connection-string.js';
import { readMembers, readVersion } from './protocol.js';
import type { Member } from './protocol.js';
import { allowTlsByAddress } from './tls-by-address.js';

/** The reports of a cluster's members in one round of queries. */
export interface Sighting {
  /** The leader according to the responding members. */
  readonly leader: Endpoint | undefined;
  /** True if the leader itself responded. */
  readonly hasLeaderAnswered: boolean;
  readonly answered: number;
  readonly asked: number;
}

/** Asks the servers over separate connections, so the result does not depend on the current client. */
export interface Members {
  /** Asks all known members at once. Never rejects. */
  readonly look: () => Promise<Sighting>;
  /** Returns a server's version; undefined when it does not report one. Never rejects. */
  readonly version: (server: Endpoint) => Promise<string | undefined>;
  /**
   * Returns a server's time; undefined when it does not respond, `undated` when its responses have no `Date` header.
   * Never rejects.
   */
  readonly time: (server: Endpoint) => Promise<TimeAnswer | 'undated' | undefined>;
}

/** A server's response: its message, unless it refused, and the `Date` header of every response. */
interface Answer<T> {
  readonly value: T | undefined;
  readonly date: string | undefined;
}

const answerMs = 1000;
/** The `Date` header has whole seconds, and the server renews it once a second. */
const dateMsMax = 2000;
const gossip = '/event_store.client.gossip.Gossip/Read';
const features = '/event_store.client.server_features.ServerFeatures/GetSupportedMethods';

/**
 * The servers of a connection string, and those that they have named.
 * @throws RangeError when a certificate of the connection string cannot be read.
 */
export function createMembers(address: StoreAddress, clock: Clock): Members {
  const asWhom = credentialsOf(address);
  let named: readonly Endpoint[] = [];
  const ask = <T>(server: Endpoint, method: string, read: (bytes: Uint8Array) => T): Promise<Answer<T>> =>
    new Promise((resolve, reject) => {
      // A separate session: gRPC clients share connections to the same server, broken ones too.
      const alone = { 'grpc.use_local_subchannel_pool': 1, 'grpc.enable_retries': 0 };
      const client = new Client(`${server.host}:${String(server.port)}`, asWhom, alone);
      let date: string | undefined;
      const done = (error: ServiceError | null, value?: T): void => {
        client.close();
        if (error !== null && isSilence(error)) reject(error);
        else resolve({ value, date: date ?? dateOf(error?.metadata) });
      };
      const deadline = clock.now() + answerMs;
      client
        .makeUnaryRequest(method, () => Buffer.alloc(0), read, undefined, new Metadata(), { deadline }, done)
        .on('metadata', (headers) => {
          date = dateOf(headers);
        });
    });
  return {
    look: async () => {
      const servers = distinct([...address.servers, ...named]);
      const answers = await Promise.allSettled(servers.map((server) => ask(server, gossip, readMembers)));
      const heard = servers.filter((_, at) => answers[at]?.status === 'fulfilled');
      const asked = { answered: heard.length, asked: servers.length };
      if (!address.isCluster) return { leader: servers[0], hasLeaderAnswered: heard.length > 0, ...asked };
      const seen = answers.map((answer) => (answer.status === 'fulfilled' ? (answer.value.value ?? []) : []));
      const known = distinct(seen.flat().map(({ endpoint }) => endpoint));
      if (known.length > 0) named = known;
      return { ...leaderAmong(seen, heard), ...asked };
    },
    version: (server) =>
      ask(server, features, readVersion).then(
        ({ value }) => value,
        () => undefined,
      ),
    time: async (server) => {
      const sentAt = clock.monotonic();
      const answer = await ask(server, gossip, readMembers).catch(() => undefined);
      if (answer === undefined) return undefined;
      const earliest = Date.parse(answer.date ?? '');
      if (Number.isNaN(earliest)) return 'undated';
      return { time: { earliest, latest: earliest + dateMsMax }, asked: { sentAt, answeredAt: clock.monotonic() } };
    },
  };
}

function dateOf(headers: Metadata | undefined): string | undefined {
  return headers?.get('date')[0]?.toString();
}

/** Prefers a reported leader that responds itself; otherwise the one that most members report. */
function leaderAmong(
  seen: readonly (readonly Member[])[],
  heard: readonly Endpoint[],
): Pick<Sighting, 'leader' | 'hasLeaderAnswered'> {
  const leaders = seen.flatMap((members) => members.filter(({ isLeader, isAlive }) => isLeader && isAlive));
  const votes = (server: Endpoint): number => leaders.filter(({ endpoint }) => areSame(endpoint, server)).length;
  const answers = (server: Endpoint): boolean => heard.some((one) => areSame(one, server));
  const [leader] = distinct(leaders.map(({ endpoint }) => endpoint)).toSorted(
    (one, other) => Number(answers(other)) - Number(answers(one)) || votes(other) - votes(one),
  );
  return { leader, hasLeaderAnswered: leader !== undefined && answers(leader) };
}

function distinct(servers: readonly Endpoint[]): readonly Endpoint[] {
  return servers.filter((server, at) => servers.findIndex((other) => areSame(server, other)) === at);
}

/** Any other status comes from a server. */
function isSilence({ code }: ServiceError): boolean {
  return code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED || code === status.CANCELLED;
}

/** The credentials for the servers of an address. @throws RangeError when a certificate cannot be read. */
export function credentialsOf({ isEncrypted, option }: StoreAddress): ChannelCredentials {
  if (!isEncrypted) return credentials.createInsecure();
  allowTlsByAddress();
  const read = (name: string): Buffer | null => {
    const file = option(name);
    if (file === undefined) return null;
    return Buffer.from(readTextFile(file, (problem) => new RangeError(`${name}: ${problem}`)));
  };
  return credentials.createSsl(read('tlsCAFile'), read('userKeyFile'), read('userCertFile'));
}
