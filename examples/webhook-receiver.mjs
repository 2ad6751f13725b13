import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const [secret] = process.env.HOOK_SECRET.trim().split(/\s+/);
const webhook = new Webhook(secret);
createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  try {
    const { type, data } = webhook.verify(body, request.headers);
    console.log(type, data.callId);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
}).listen(Number(process.env.PORT ?? 8080));
