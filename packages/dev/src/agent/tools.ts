/** The tools of the builder's coding agent. */
import { PlatformError, parseInput } from '@freehold/contracts';
import { type McpTool, toolHints, toolInputSchema } from '@freehold/operations/mcp';
import { z } from 'zod';
import { INSTANCE } from '../instance/local-platform.ts';
import { OWNER, type People } from '../instance/people.ts';
import type { RequestLog } from '../instance/request-log.ts';
import type { Generation, Versions } from '../instance/versions.ts';
import type { Fault } from '../lib/events.ts';
import type { Project } from '../project/project.ts';
import { describeApp } from './describe-app.ts';
import { runTests } from './run-tests.ts';

export interface AgentToolsOptions {
  readonly project: Project;
  readonly versions: Pick<Versions, 'use' | 'version'>;
  /** The people of a version; null for one that lets no person in. */
  readonly peopleOf: (generation: Generation) => People | null;
  readonly requests: Pick<RequestLog, 'latest'>;
  /** Takes what the application told and what has not arrived yet. */
  readonly settle: () => Promise<void>;
  readonly faults: () => { readonly save: readonly Fault[]; readonly requests: readonly Fault[] };
}

/** A tool with its function. */
export interface AgentTool extends McpTool {
  run(given: unknown): Promise<unknown>;
}

const ROWS_MAX = 100;

export function makeAgentTools(options: AgentToolsOptions): readonly AgentTool[] {
  return [
    lastErrors(options),
    logs(options),
    schema(options),
    callOperation(options),
    query(options),
    tests(options),
  ];
}

function lastErrors({ versions, faults, settle }: AgentToolsOptions): AgentTool {
  return tool({
    name: 'last_errors',
    title: 'The last errors',
    description:
      'Why the last save is not served, if it is broken, and the latest errors of requests, each with file and line of the source.',
    input: z.strictObject({}),
    readOnly: true,
    run: async () => {
      await settle();
      const { save, requests } = faults();
      return { servedVersion: versions.version, save, requests: requests.toReversed() };
    },
  });
}

function logs({ requests, settle }: AgentToolsOptions): AgentTool {
  return tool({
    name: 'logs',
    title: 'The latest requests with their lines',
    description:
      'The latest requests of the application, the newest first: method, path, status, duration, and what it wrote (console) and threw while it answered, with file and line. Lines of reactions and schedules are in `background`.',
    input: z.strictObject({
      path: z.string().max(500).default('/').describe('The beginning of their paths: /api/books'),
      limit: z.int().min(1).max(200).default(20),
    }),
    readOnly: true,
    run: async (asked) => {
      await settle();
      return requests.latest(asked);
    },
  });
}

function schema({ versions }: AgentToolsOptions): AgentTool {
  return tool({
    name: 'schema',
    title: 'The application as it is served',
    description:
      'Tables with columns, applied migrations, operations with their inputs, permissions, roles and settings.',
    input: z.strictObject({}),
    readOnly: true,
    run: () => versions.use(async (generation) => describeApp(requireServed(generation))),
  });
}

function callOperation({ versions, peopleOf }: AgentToolsOptions): AgentTool {
  return tool({
    name: 'call_operation',
    title: 'Run an operation as a person',
    description: `Runs an operation with its permissions and its history, as the route does. The person is a login name; one who is no member is made one with the role. Default: ${OWNER}, the owner.`,
    input: z.strictObject({
      operation: z.string().min(1).max(200).describe('Its name: item/create'),
      input: z.record(z.string(), z.unknown()).default({}),
      person: z
        .string()
        .regex(/^[a-z][a-z0-9-]{1,30}$/, 'must be a login name')
        .default(OWNER),
      role: z.string().min(1).max(64).optional().describe('A role of the manifest'),
    }),
    readOnly: false,
    run: ({ operation, input, person, role }) =>
      versions.use(async (generation) => {
        const people = peopleOf(requireServed(generation));
        if (people === null)
          throw new PlatformError(
            'conflict',
            'No person is let in yet: authenticatedPrincipal in the declaration must be signedIn().',
          );
        const member = await people.as(person, role === undefined ? {} : { role });
        return { output: (await member.call(operation, input)) ?? null };
      }),
  });
}

function query({ versions }: AgentToolsOptions): AgentTool {
  return tool({
    name: 'query',
    title: 'Read with SQL',
    description: `Runs one statement of SQLite that reads, and returns ${ROWS_MAX} rows at most. It is stopped after five seconds.`,
    input: z.strictObject({
      sql: z.string().min(1).max(20_000),
      params: z
        .array(z.union([z.null(), z.string().max(65_536), z.number()]))
        .max(100)
        .default([]),
    }),
    readOnly: true,
    run: ({ sql, params }) =>
      versions.use(async (generation) => {
        const { host } = requireServed(generation).platform;
        const { columns, rows, truncated } = await host.introspectScopeQuery({ ...INSTANCE, sql, params });
        const isCut = truncated !== null || rows.length > ROWS_MAX;
        return { columns, rows: rows.slice(0, ROWS_MAX), truncated: isCut };
      }),
  });
}

function tests({ project }: AgentToolsOptions): AgentTool {
  return tool({
    name: 'run_tests',
    title: 'Run the tests of a feature',
    description: 'Runs one test file of the project with vitest, and returns what failed.',
    input: z.strictObject({
      file: z.string().min(1).max(500).describe('Relative to the project: src/items/operations.test.ts'),
      timeoutSeconds: z.int().min(1).max(120).default(60),
    }),
    readOnly: true,
    run: ({ file, timeoutSeconds }) => runTests(project, { file, timeoutMs: timeoutSeconds * 1_000 }),
  });
}

interface ToolDeclaration<S extends z.ZodType> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: S;
  readonly readOnly: boolean;
  readonly run: (input: z.output<S>) => Promise<unknown>;
}

function tool<S extends z.ZodType>({ input, readOnly, run, ...described }: ToolDeclaration<S>): AgentTool {
  return {
    ...described,
    inputSchema: toolInputSchema(input),
    annotations: toolHints({ readOnly, destructive: !readOnly, method: undefined }),
    run: async (given) => run(parseInput('The arguments', input, given)),
  };
}

function requireServed(generation: Generation | null): Generation {
  if (generation !== null) return generation;
  throw new PlatformError('unavailable', 'No version of the application is served: last_errors says why.');
}
