// Counts the models that Modelina makes of the AsyncAPI document, and those that it has to name by itself.
import { readFileSync } from 'node:fs';
import { TypeScriptGenerator } from '@asyncapi/modelina';

const document = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const models = await new TypeScriptGenerator().generate(document);
const anonymous = models.map(({ modelName }) => modelName).filter((name) => /anonymous/i.test(name));
console.log(JSON.stringify({ models: models.length, anonymous }));
