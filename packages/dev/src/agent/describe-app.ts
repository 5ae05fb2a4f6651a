/** The application as it is served, for a program that changes it. */
import { httpBinding, isReadOnly } from '@freehold/operations';
import { toolInputSchema } from '@freehold/operations/mcp';
import { z } from 'zod';
import { INSTANCE } from '../instance/local-platform.ts';
import type { Generation } from '../instance/versions.ts';

export async function describeApp({ loaded: { app }, platform: { host } }: Generation) {
  const { slug, name, version, permissions, roles, ownerRole, entities, services = {}, env } = app.manifest;
  const tables = await host.introspectScopeTables(INSTANCE);
  return {
    application: { slug, name, version },
    permissions,
    roles,
    ownerRole,
    entities,
    services,
    settings: env,
    operations: Object.entries(app.operations).map(([operation, declared]) => ({
      name: operation,
      summary: declared.summary,
      permission: declared.permission,
      readOnly: isReadOnly(declared),
      http: httpBinding(operation, declared),
      input: toolInputSchema(declared.input),
      output: z.toJSONSchema(declared.output, { io: 'output', unrepresentable: 'any' }),
    })),
    subscriptions: Object.keys(app.on ?? {}),
    executors: Object.keys(app.executors ?? {}),
    schedules: Object.keys(app.schedules ?? {}),
    works: Object.keys(app.vertical.works ?? {}),
    tables: tables.filter(({ kind }) => kind === 'vertical'),
    migrations: await host.appliedMigrationsLocal(INSTANCE),
  };
}
