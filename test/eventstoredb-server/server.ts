import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import usersGrpc from '@eventstore/db-client/generated/users_grpc_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import { append, batchAppend } from './appends.ts';
import type { LiveSubscription, ServerContext } from './context.ts';
import { createFaultSwitch } from './faults.ts';
import type { Faults } from './faults.ts';
import { openServerLog } from './log.ts';
import type { ServerLog } from './log.ts';
import { alone, clusterInfo } from './members.ts';
import type { Membership } from './members.ts';
import { read } from './reads.ts';
import { createRights } from './rights.ts';
import type { Rights } from './rights.ts';
import { failure } from './status-errors.ts';
import { deletions, usersService } from './users.ts';

/** The options of a server's start. */
export interface TestServerOptions {
  /** Default: any free port. */
  readonly port?: number;
  /** The folder of its log. Default: in memory. */
  readonly folder?: string;
  /** A log that outlives the server, as a file outlives its process. */
  readonly log?: ServerLog;
  /** The password of its user `admin`; default: it has no users, and everybody may do everything. */
  readonly adminPassword?: string;
  /** The delay before new rights take effect. Default: none. */
  readonly rightsTakeMs?: number;
  /** Its certificate; default: it speaks without TLS. Clients send a user by TLS only. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly caFile: string };
  /** What it says its version is. */
  readonly version?: string;
  /** Its view of its cluster. Default: a single node. */
  readonly membership?: (port: () => number) => Membership;
}

/** A server that speaks the protocol of EventStoreDB: tests only. */
export interface TestServer {
  readonly port: number;
  readonly url: string;
  readonly log: ServerLog;
  readonly users: Rights;
  /** Every call so far, `Service/Method`. */
  readonly calls: string[];
  readonly setFaults: (faults: Faults) => void;
  /** Cancels every open subscription; returns their number. */
  readonly dropSubscriptions: () => number;
  /** Makes its subscriptions read new events. */
  readonly wake: () => void;
  /** Closes every connection at once, like a kill. A log that was passed in stays open. */
  readonly stop: () => void;
}

/** Starts a server on 127.0.0.1. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const log = options.log ?? openServerLog(options.folder);
  const faults = createFaultSwitch();
  const context: ServerContext = {
    log,
    faults,
    calls: [],
    subscriptions: new Set<LiveSubscription>(),
    now: () => Date.now() + (faults.current().clockAheadMs ?? 0),
    port: () => port,
    membership: (options.membership ?? alone)(() => port),
    onTheirWay: new Set<string>(),
    rights: createRights(log, options.adminPassword, options.rightsTakeMs),
  };
  let isStopped = false;
  const server = new Server({ 'grpc.max_receive_message_length': 17 * 1024 * 1024 });
  const port = await listen(server, options, () => addServices(server, context, options.version));
  return {
    port,
    url: `esdb://127.0.0.1:${port}?${options.tls === undefined ? 'tls=false' : `tlsCAFile=${options.tls.caFile}`}`,
    log,
    users: context.rights,
    calls: context.calls,
    setFaults: faults.set,
    dropSubscriptions: () => {
      const open = [...context.subscriptions];
      for (const subscription of open) subscription.drop();
      return open.length;
    },
    wake: () => {
      for (const subscription of context.subscriptions) subscription.wake();
    },
    stop: () => {
      if (isStopped) return;
      isStopped = true;
      server.forceShutdown();
      if (options.log === undefined) log.close();
    },
  };
}

function listen(server: Server, { port = 0, tls }: TestServerOptions, addAll: () => void): Promise<number> {
  addAll();
  const credentials =
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) }]);
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
}

function addServices(server: Server, context: ServerContext, version = '24.10.0'): void {
  const streams = {
    append: append(context),
    batchAppend: batchAppend(context),
    read: read(context),
    ...deletions(context),
  };
  server.addService(streamsGrpc.StreamsService, streams);
  server.addService(usersGrpc.UsersService, usersService(context));
  server.addService(featuresGrpc.ServerFeaturesService, {
    getSupportedMethods: (_call: unknown, answer: sendUnaryData<SupportedMethods>) => {
      context.calls.push('ServerFeatures/GetSupportedMethods');
      const fault = context.faults.take('features');
      if (fault === 'hang') return;
      if (context.membership.isFrozen()) return;
      if (fault === undefined) answer(null, supportedMethods(version));
      else answer(failure(fault === 'internal' ? status.INTERNAL : status.UNIMPLEMENTED, fault));
    },
  });
  server.addService(gossipGrpc.GossipService, {
    read: (call: ServerUnaryCall<unknown, ClusterInfo>, answer: sendUnaryData<ClusterInfo>) => {
      context.calls.push('Gossip/Read');
      call.sendMetadata(context.faults.current().undated === true ? undated() : dated(context.now()));
      const fault = context.faults.take('gossip');
      if (context.membership.isFrozen()) return;
      if (fault === 'unavailable') answer(failure(status.UNAVAILABLE, 'no gossip'));
      else if (fault === undefined) answer(null, clusterInfo(context.membership.gossip()));
    },
  });
}

/** The `Date` header of a response, as a real server has it: in whole seconds. */
function dated(nowMs: number): Metadata {
  const headers = new Metadata();
  headers.set('date', new Date(nowMs).toUTCString());
  return headers;
}

/** No date: without an empty one Node would add its own. */
function undated(): Metadata {
  const headers = new Metadata();
  headers.set('date', '');
  return headers;
}

function supportedMethods(version: string): SupportedMethods {
  const answer = new features.SupportedMethods();
  answer.setEventStoreServerVersion(version);
  for (const name of ['Append', 'BatchAppend', 'Read']) {
    const method = new features.SupportedMethod();
    method.setServiceName('event_store.client.streams.Streams');
    method.setMethodName(name);
    answer.addMethods(method);
  }
  return answer;
}
