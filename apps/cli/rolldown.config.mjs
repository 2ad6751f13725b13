// The bundle that `countersign` runs: everything that one command needs, in a few files instead of 1,700 modules. Nest
// asks for these when they are there; the client of KurrentDB loads native code from its own folder.
const external = [
  /^@nestjs\/websockets/,
  /^class-(transformer|validator)/,
  /^@grpc\/proto-loader$/,
  /^(amqp-connection-manager|amqplib|ioredis|mqtt|nats)$/,
  /^@fastify\/view$/,
  /^@kurrent\/kurrentdb-client$/,
];

export default {
  input: 'dist/main.js',
  platform: 'node',
  external,
  checks: { eval: false, commonJsVariableInEsm: false },
  // Names that stay: a process that still runs when a new version is built loads its parts late.
  output: { dir: 'bundle', format: 'esm', chunkFileNames: '[name].js' },
};
