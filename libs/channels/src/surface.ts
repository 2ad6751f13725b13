/** A request of a channel's server: the raw body. Header names are lower case. */
export interface SurfaceRequest {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The response, and the work that continues after it. */
export interface SurfaceResponse {
  readonly status: number;
  /** Sent as JSON; absent: an empty body. */
  readonly body?: object;
  /** Ends when everything that the request asked for is done; never rejects. */
  readonly done: Promise<void>;
}

/** Receives the responses of one channel. */
export interface Surface {
  readonly channelId: string;
  readonly type: 'slack' | 'telegram' | 'teams';
  readonly receive: (request: SurfaceRequest) => Promise<SurfaceResponse>;
}

/** The only value of a header. */
export function headerOf({ headers }: Pick<SurfaceRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** A response without further work. */
export function answered(status: number, body?: object): SurfaceResponse {
  return { status, ...(body === undefined ? {} : { body }), done: Promise.resolve() };
}
