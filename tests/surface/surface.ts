/**
 * The public surface in a compact form: one line for each route, tool and command. A route's hash covers its whole
 * OpenAPI object with all references resolved and all prose left out.
 */
import { createHash } from 'node:crypto';
import { controlPlaneApp } from '@freehold/control-plane';
import type { Actor } from '@freehold/directory';
import { managementOpenApi, mountOperations } from '@freehold/vertical-host';
import { Hono } from 'hono';
import app from '../../examples/fieldwork/src/app.ts';
import { commands } from '../../packages/cli/src/commands.ts';

/** Section → its lines, sorted. */
export type Surface = Readonly<Record<string, readonly string[]>>;

type Json = Readonly<Record<string, unknown>>;

const ORIGIN = 'http://api.localhost';
const ADMIN: Actor = { kind: 'service', id: 'tok_surface', name: 'surface' };

export async function readSurface(): Promise<Surface> {
  const controlPlane = controlPlaneApp({
    hostAdmin: {
      authenticate: async () => ADMIN,
      perform: () => Promise.reject(new Error('the surface is read, and no operation is called')),
    },
    onIncident: (error) => {
      throw error;
    },
    now: () => 0,
    newRequestId: () => 'req-1',
    rateLimit: null,
    origin: () => ORIGIN,
  });
  const fieldwork = new Hono();
  mountOperations(fieldwork, app.operations, () => ({
    invoke: () => Promise.reject(new Error('the surface is read, and no operation is called')),
  }));
  return {
    ...documentSections('control plane', await documentOf(controlPlane, '/openapi.json')),
    ...documentSections('fieldwork', await documentOf(fieldwork, '/api/openapi.json')),
    ...documentSections('management contract', managementOpenApi()),
    'control plane: MCP tools': await toolLines(controlPlane, '/mcp'),
    'fieldwork: MCP tools': await toolLines(fieldwork, '/api/mcp'),
    'command line': commandLines(),
  };
}

/** Returns the lines that differ, each with its section. */
export function surfaceChanges(recorded: Surface, current: Surface): string[] {
  const sections = new Set([...Object.keys(recorded), ...Object.keys(current)]);
  return [...sections].flatMap((section) => {
    const before = new Set(recorded[section] ?? []);
    const after = new Set(current[section] ?? []);
    return [
      ...[...before].filter((line) => !after.has(line)).map((line) => `${section}: was ${line}`),
      ...[...after].filter((line) => !before.has(line)).map((line) => `${section}: is  ${line}`),
    ];
  });
}

interface Served {
  request(path: string, init?: RequestInit): Response | Promise<Response>;
}

async function documentOf(app: Served, path: string): Promise<Json> {
  const response = await app.request(path);
  if (!response.ok) throw new Error(`GET ${path} answered ${response.status}`);
  return (await response.json()) as Json;
}

function documentSections(name: string, document: object): Record<string, string[]> {
  const { paths, components } = document as { paths: Record<string, Json>; components: { schemas: Json } };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { operationId } = operation as { operationId: string };
      return `${method.toUpperCase()} ${path} ${operationId} ${hashOf(dereferenced(operation, document))}`;
    }),
  );
  return {
    [`${name}: routes`]: routes.sort(),
    [`${name}: schemas`]: Object.keys(components.schemas).sort(),
  };
}

async function toolLines(app: Served, path: string): Promise<string[]> {
  const response = await app.request(`${ORIGIN}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer fh_svc_surface',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
  const text = await response.text();
  const message = text.startsWith('{') ? text : text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  const { result } = JSON.parse(message) as { result: { tools: Json[] } };
  return result.tools
    .map((tool) => {
      const { name, description: _description, title: _title, ...rest } = tool;
      return `${name} ${hashOf(withoutProse(rest))}`;
    })
    .sort();
}

function commandLines(): string[] {
  return commands.commands
    .map(({ path, arguments: given, options }) =>
      [
        ...path,
        ...given.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`)),
        ...Object.entries(options)
          .map(([name, { kind = 'value', required }]) => `--${name}:${kind}${required ? '!' : ''}`)
          .sort(),
      ].join(' '),
    )
    .sort();
}

/** Resolves every reference. A recursive one becomes the number of references up to its schema. */
function dereferenced(part: unknown, document: object): unknown {
  const resolve = (value: unknown, above: readonly string[], isNaming: boolean): unknown => {
    if (Array.isArray(value)) return value.map((each) => resolve(each, above, false));
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...members } = value as Json;
    if (typeof $ref === 'string' && !isNaming) {
      const depth = above.indexOf($ref);
      if (depth >= 0) return { $up: depth };
      const target = resolve(lookUp($ref, document), [$ref, ...above], false);
      return { ...(target as Json), ...(resolve(members, above, false) as Json) };
    }
    return Object.fromEntries(
      Object.entries(value).map(([keyword, member]) => [
        keyword,
        DATA.has(keyword) && !isNaming ? member : resolve(member, above, NAMING.has(keyword) && !isNaming),
      ]),
    );
  };
  return withoutProse(resolve(part, [], false));
}

function lookUp(reference: string, document: object): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((value, step) => (value as Json)[step], document);
}

/** Keywords whose value is data, without references or prose. */
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);
/** Keywords whose members are named by an author: a property may be called `description`. */
const NAMING: ReadonlySet<string> = new Set(['properties', 'patternProperties']);
const PROSE: ReadonlySet<string> = new Set(['description', 'summary']);

/** Returns a copy without descriptions and summaries, with its keys in order. */
function withoutProse(value: unknown, isNaming = false): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutProse(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([keyword]) => isNaming || !PROSE.has(keyword))
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([keyword, member]) => [
        keyword,
        DATA.has(keyword) && !isNaming ? member : withoutProse(member, NAMING.has(keyword) && !isNaming),
      ]),
  );
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}
