// Your own notifier as a NestJS microservice: tells about each approval that waits, in a group of its own. Whatever you do in `tell`,
// the events only say when to look: the approval itself is read over HTTP.
//
//   npm install @nestjs/common @nestjs/core @nestjs/microservices kafkajs reflect-metadata rxjs
//   COUNTERSIGN_TOKEN=… COUNTERSIGN_KAFKA_BROKERS=127.0.0.1:9092 nest start
//
// On a broker that asks for a password: KAFKA_USERNAME, KAFKA_PASSWORD, KAFKA_MECHANISM (plain, scram-sha-256 or scram-sha-512) and,
// with TLS, KAFKA_SSL=true.
import 'reflect-metadata';
import { Controller, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, Payload, Transport } from '@nestjs/microservices';
import type { KafkaContext, MicroserviceOptions } from '@nestjs/microservices';

const {
  COUNTERSIGN_URL: url = 'http://127.0.0.1:7400',
  COUNTERSIGN_TOKEN: token = '',
  COUNTERSIGN_KAFKA_BROKERS: brokers = '127.0.0.1:9092',
  COUNTERSIGN_TOPIC_PREFIX: prefix = 'countersign',
  KAFKA_USERNAME: username,
  KAFKA_PASSWORD: password = '',
  KAFKA_MECHANISM: mechanism = 'scram-sha-512',
  GROUP: groupId = 'my-notifier',
} = process.env;

interface Approval {
  readonly approvalId: string;
  readonly state: string;
  readonly toolName: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The value of an event. `data` is null where this version of Countersign cannot read it. */
interface RecordedEvent {
  readonly type: string;
  readonly data: { readonly approvalId: string } | null;
}

@Injectable()
export class Approvals {
  /** Undefined: there is no such approval. */
  async read(approvalId: string, position?: string): Promise<Approval | undefined> {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(position !== undefined && { 'Countersign-Position': position }),
    };
    const response = await fetch(`${url}/v1/approvals/${encodeURIComponent(approvalId)}`, { headers });
    if (response.ok) return (await response.json()) as Approval;
    // A forged event may name a position that the log never reaches.
    if (position !== undefined && [409, 503].includes(response.status)) return this.read(approvalId);
    if (response.status === 404) return undefined;
    throw new Error(`${approvalId}: ${String(response.status)}`);
  }
}

@Controller()
export class Notifier {
  /** An event may come twice, also after a restart: keep what was told where it outlives the process, if twice is too often. */
  readonly #told = new Set<string>();
  readonly #approvals: Approvals;

  constructor(approvals: Approvals) {
    this.#approvals = approvals;
  }

  /** What it throws is tried again, and no later message of the partition is read before. The offset is committed after it. */
  @EventPattern([`${prefix}.events.v1`])
  async handle(@Payload() event: RecordedEvent | null, @Ctx() context: KafkaContext): Promise<void> {
    const { headers = {} } = context.getMessage();
    const id = String(headers['ce_id']);
    if (event?.type !== 'ApprovalRequested' || event.data === null || this.#told.has(id)) return;
    const approval = await this.#approvals.read(event.data.approvalId, String(headers['ce_sequence']));
    if (approval?.state === 'pending') this.#tell(approval);
    this.#told.add(id);
  }

  #tell({ approvalId: waits, toolName: tool, arguments: args }: Approval): void {
    console.log(JSON.stringify({ waits, tool, arguments: args }));
  }
}

@Module({ controllers: [Notifier], providers: [Approvals] })
export class NotifierModule {}

const service = await NestFactory.createMicroservice<MicroserviceOptions>(NotifierModule, {
  logger: ['error'],
  transport: Transport.KAFKA,
  options: {
    // Without it Nest puts "-server" behind the name of the group, for which the rights of the guide are not.
    postfixId: '',
    client: {
      ...{ clientId: groupId, brokers: brokers.split(','), ssl: process.env['KAFKA_SSL'] === 'true' },
      ...(username !== undefined && { sasl: { mechanism: mechanism as 'plain', username, password } }),
    },
    consumer: { groupId },
    subscribe: { fromBeginning: process.env['FROM_BEGINNING'] === 'yes' },
  },
});
service.enableShutdownHooks();
await service.listen();
