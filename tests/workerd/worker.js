/**
 * The entry of the worker under test: the application, with identity directories in Durable Objects. It is plain
 * JavaScript because it stands between two sets of types, workerd's and Node's.
 */
import { env } from 'cloudflare:workers';
import { identityDirectory } from '@freehold/auth';
import { makeUnitObject, workerdEngine } from '@freehold/engine-workerd';
import { makeApplication } from './application.ts';

const incidents = [];
const onIncident = (error, where) => void incidents.push(`${where.kind} ${where.method}: ${error}`);

export class IdentityObject extends makeUnitObject(identityDirectory, { onIncident }) {}

const application = makeApplication({
  engine: workerdEngine({ namespaces: { identity: env.IDENTITY }, onIncident }),
  env,
  incidents,
});

export default { fetch: (request) => application(request) };
