import { jest } from '@jest/globals';

/**
 * Makes the fault specs use Kurrent's client. The test server then uses the generated messages of that client, too: both clients
 * register theirs under the same global names.
 */
export function useKurrentClient(): void {
  const names = ['streams', 'serverfeatures', 'gossip', 'users'].flatMap((name) => [`${name}_pb`, `${name}_grpc_pb`]);
  for (const name of [...names, 'shared_pb', 'status_pb']) {
    jest.unstable_mockModule(
      `@eventstore/db-client/generated/${name}.js`,
      () =>
        import(
          `@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/${name.replace('users', 'usermanagement')}.js`
        ) as Promise<object>,
    );
  }
  jest.unstable_mockModule('../../../eventstoredb-server/client-under-test.ts', () => ({ scheme: 'kurrentdb' }));
}
