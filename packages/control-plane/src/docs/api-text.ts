/** The API reference as a page of the documentation: how every operation behaves, and the list of all of them. */
import { PROBLEMS } from '@freehold/contracts';
import type { OpenApiDocument } from '@freehold/operations/openapi';

/** The text of `docs/api.md`. */
export function apiText({ paths, tags = [] }: OpenApiDocument): string {
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method,
      ...(operation as unknown as Listed),
    })),
  );
  const byTag = Map.groupBy(entries, (entry) => entry.tags?.[0] ?? '');
  const groups = tags.map(({ name, description }) => {
    const rows = (byTag.get(name) ?? []).map(({ path, method, operationId, summary }) => [
      `\`${method.toUpperCase()} ${path}\``,
      `\`${operationId}\``,
      summary ?? '',
    ]);
    return `### ${name}\n\n${description}\n\n${tableOf(['address', 'operation', 'what it does'], rows)}`;
  });
  const codes = Object.entries(PROBLEMS).map(([code, { status, title }]) => [
    `\`${code}\``,
    String(status),
    title,
  ]);
  return `${INTRODUCTION}
## Codes of problems

${tableOf(['code', 'status', 'what it says'], codes)}

## Every address

${groups.join('\n\n')}
`;
}

interface Listed {
  readonly operationId: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
}

const INTRODUCTION = `# The API of the control plane

Written by \`node packages/control-plane/src/docs/write.ts\` from the declarations; do not edit it.

Here is how all of it behaves, and what there is. Parameters, bodies and answers, field by field, are in the rendered
reference that every installation serves at \`/docs\`, and in its OpenAPI 3.1 document at \`/openapi.json\`
([the same, checked in](../packages/control-plane/openapi.json)). [The command line](cli/README.md) has a command for each
operation, and the staff tools at \`/mcp\` are the same operations for models ([staff](staff.md)).

\`\`\`sh
api=http://api.localhost:8787
token=$(cat .freehold/service-token)
curl -s -H "authorization: Bearer $token" "$api/tenants?limit=5"
\`\`\`

\`\`\`ts
import { makeControlPlaneClient } from '@freehold/control-plane/client';

const client = makeControlPlaneClient({ baseUrl: 'https://api.apps.example.org', token });
const tenant = await client.tenants.create({ body: { slug: 'acme', name: 'Acme' } });
for await (const scope of client.scopes.list.iterate({ params: { tenant: tenant.id } }))
  console.log(scope.name);
\`\`\`

## How every operation behaves

- **Who calls** is told by \`Authorization: Bearer\` with a token (of a service, of a member of the staff, of a tenant's
  builder), or by the session of a member who signed in at \`/auth/login\`. A builder's tenant is always its own; another
  tenant's things read as 404, and never as 403.
- **Input** is JSON, and unknown fields are refused. Lists take \`limit\` (20 by default, at most 200) and \`cursor\`, and
  answer \`{ items, nextCursor }\`.
- **Repeating**: every operation that changes something takes an \`Idempotency-Key\`. The same call with the same key is
  done once, and its answer is kept for 24 hours (\`Idempotency-Replayed: true\`). A secret that is shown once is not
  shown again.
- **Conditions**: single resources carry an \`ETag\`; sent back in \`If-Match\` (quoted, or bare as the \`etag\` of a body),
  a change of something that was changed meanwhile is refused with 412.
- **Bodies** are JSON (RFC 8259); an object with two members of one name is refused.
- **Evidence**: every change is a row of the admin log, in the same transaction. \`X-Admin-Log-Head\` names that row and its
  hash; kept, it proves later that the log still holds it (\`admin-log.verify\`).
- **Long work** answers 202 with a \`Location\`. \`GET /operations/{operation}\` says how far it is, waits with \`?wait=30s\`,
  and tells it as server-sent events with \`Accept: text/event-stream\`. \`?dryRun=true\`, where an operation takes it,
  answers what would be done and does nothing.
- **Failures** are problem documents (RFC 9457, \`application/problem+json\`): \`code\` from the list below, \`detail\` for
  people, \`reason\` where a module narrows it, \`errors: [{ path, message }]\` for input, \`requestId\` for questions to the operator.
- **Limits**: \`RateLimit\` and \`RateLimit-Policy\` say what is left; beyond that it is 429 with \`Retry-After\`.
`;

/** A table in Markdown with aligned columns. */
function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((name, at) => Math.max(name.length, ...cells.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] as number)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n');
}
