import { BinaryReader } from 'google-protobuf';
import type { Endpoint } from './connection-string.js';

/** A member of a cluster, as another member reports it. */
export interface Member {
  readonly endpoint: Endpoint;
  readonly isLeader: boolean;
  readonly isAlive: boolean;
}

/** `MemberInfo.VNodeState.LEADER`. */
const leaderState = 8;

/**
 * Decodes the vendor's messages by field number: the generated classes of its two clients share global names, so a
 * process can load those of one client only. Source: the vendor's `gossip.proto` and `serverfeatures.proto`.
 */
function fieldsOf(bytes: Uint8Array, read: Readonly<Record<number, (reader: BinaryReader) => void>>): void {
  const reader = new BinaryReader(bytes);
  while (reader.nextField() && !reader.isEndGroup()) {
    const readField = read[reader.getFieldNumber()];
    if (readField === undefined) reader.skipField();
    else readField(reader);
  }
}

/** `ClusterInfo`: the members, in field 1. */
export function readMembers(bytes: Uint8Array): readonly Member[] {
  const members: Member[] = [];
  fieldsOf(bytes, { 1: (reader) => void members.push(readMember(reader.readBytes())) });
  return members;
}

/** `MemberInfo`: its state in field 3, whether it is alive in 4, where it listens in 5. */
function readMember(bytes: Uint8Array): Member {
  let [state, isAlive, endpoint] = [0, false, { host: '', port: 0 }];
  fieldsOf(bytes, {
    3: (reader) => (state = reader.readEnum()),
    4: (reader) => (isAlive = reader.readBool()),
    5: (reader) => (endpoint = readEndpoint(reader.readBytes())),
  });
  return { endpoint, isAlive, isLeader: state === leaderState };
}

/** `EndPoint`: the address in field 1, the port in 2. */
function readEndpoint(bytes: Uint8Array): Endpoint {
  let [host, port] = ['', 0];
  fieldsOf(bytes, { 1: (reader) => (host = reader.readString()), 2: (reader) => (port = reader.readUint32()) });
  return { host, port };
}

/** `SupportedMethods`: the version of the server, in field 2. */
export function readVersion(bytes: Uint8Array): string | undefined {
  let version: string | undefined;
  fieldsOf(bytes, { 2: (reader) => (version = reader.readString()) });
  return version;
}
