/** The common internals of both vendors' clients that are replaced here. */
interface Internals {
  execute: <T>(service: unknown, name: string, action: (stub: Stub) => Promise<T>) => Promise<T>;
  createChannel: () => Promise<Channel>;
  readonly getGRPCClient: (service: unknown, name: string) => Promise<Stub>;
  readonly handleError: (stub: Stub, error: unknown) => Promise<void>;
  readonly dispose: () => Promise<void>;
}

interface Stub {
  readonly getChannel: () => Channel;
}

interface Channel {
  readonly getConnectivityState: (tryToConnect: boolean) => number;
  readonly close: () => void;
}

/** gRPC's `connectivityState.SHUTDOWN`. */
const shutDown = 4;

/**
 * Makes it safe to end a vendor's client while calls wait for its channel. They would meet a closed channel, and that
 * error is thrown inside a promise of the vendor's that cannot be caught: it ends the process. Returns a function that
 * ends the client: its calls, and its connections, which its own `dispose` leaves open.
 */
export function guardChannels(client: object): () => Promise<void> {
  const inside = client as Internals;
  const { createChannel } = inside;
  const channels = new Set<Channel>();
  let isEnded = false;
  inside.createChannel = async () => {
    const channel = await createChannel();
    for (const one of channels) if (isClosed(one)) channels.delete(one);
    channels.add(channel);
    if (isEnded) channel.close();
    return channel;
  };
  inside.execute = async (service, name, action) => {
    const stub = await inside.getGRPCClient(service, name);
    // Nothing may happen between this check and the call.
    if (isClosed(stub.getChannel())) throw new ClosedChannelError('the connection was closed before the call was sent');
    try {
      return await action(stub);
    } catch (error) {
      void inside.handleError(stub, error);
      throw error;
    }
  };
  return async () => {
    isEnded = true;
    await inside.dispose();
    for (const channel of channels) if (!isClosed(channel)) channel.close();
  };
}

/** Nothing was sent. */
export class ClosedChannelError extends Error {
  override readonly name = 'ClosedChannelError';
}

function isClosed(channel: Channel): boolean {
  return channel.getConnectivityState(false) === shutDown;
}
