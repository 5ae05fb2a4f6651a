/** An operation as a button: with fields it opens their form, and one that destroys something asks first. */
import { useState } from 'react';
import type { DeclaredOperation } from '../../src/wire/declared.ts';
import { ask, asRefusal, fillPath, Refusal } from '../lib/api.ts';
import { useApp } from '../lib/app-context.tsx';
import { type JsonRecord, judge, type Values, valuesOf } from '../lib/forms.ts';
import { spoken, t } from '../lib/language.ts';
import { setUnsaved } from '../lib/router.ts';
import { Button } from './basics.tsx';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';

/** The record that an operation is about, with the version that the reader saw. */
export interface Subject {
  readonly id: string;
  readonly version: string | null;
}

/** Performs an operation. @throws Refusal */
export async function perform(
  operation: DeclaredOperation,
  {
    input,
    subject,
    key,
  }: {
    readonly input: Record<string, unknown>;
    readonly subject: Subject | null;
    readonly key: string;
  },
): Promise<unknown> {
  const own = operation.about && subject ? { [operation.about.parameter]: subject.id } : {};
  const { path, rest } = fillPath(operation.path, { ...input, ...own });
  if (operation.method === 'GET') {
    const query = new URLSearchParams(Object.entries(rest).map(([name, value]) => [name, String(value)]));
    return (await ask(`${path}?${query}`)).value;
  }
  const answer = await ask(path, {
    method: operation.method,
    body: rest,
    ...(operation.isReading ? {} : { key, ifMatch: subject?.version }),
  });
  return answer.value;
}

export function OperationButton({
  operation,
  subject = null,
  onDone,
}: {
  readonly operation: DeclaredOperation;
  readonly subject?: Subject | null;
  /** Called after it was performed, and after it was refused because the record is another one by now. */
  readonly onDone: () => void;
}) {
  const { notify } = useApp();
  const [isOpen, setOpen] = useState(false);
  const [values, setValues] = useState<Values>(() => valuesOf(operation.fields, null, spoken));
  const [result, setResult] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const needsDialog = operation.fields.length > 0 || operation.isDestructive || operation.isReading;

  const run = async (input: Record<string, unknown>, key: string): Promise<void> => {
    try {
      const answer = await perform(operation, { input, subject, key });
      if (operation.isReading) return setResult(answer);
      setUnsaved(false);
      setOpen(false);
      setValues(valuesOf(operation.fields, null, spoken));
      notify({ text: t.done(operation.summary) });
      onDone();
    } catch (error) {
      const refused = asRefusal(error);
      if (refused.problem.status !== 412) throw refused;
      onDone();
      throw new Refusal({ ...refused.problem, detail: t.changedLook });
    }
  };
  const click = async () => {
    if (needsDialog) return setOpen(true);
    setBusy(true);
    try {
      await run({}, crypto.randomUUID());
    } catch (error) {
      notify({ text: asRefusal(error).message, isBad: true });
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button onClick={click} busy={isBusy} look={operation.isDestructive ? 'danger' : 'plain'}>
        {operation.summary}
      </Button>
      {isOpen && (
        <Dialog title={operation.summary} onClose={() => setOpen(false)}>
          {operation.description && <p className="soft">{operation.description}</p>}
          {operation.fields.length === 0 && !operation.isReading && <p>{t.sure}</p>}
          <Form
            fields={operation.fields}
            values={values}
            onChange={setValues}
            judge={() => judge(operation.fields, values, spoken)}
            send={run}
            onCancel={() => setOpen(false)}
            submit={operation.isReading ? t.run : operation.summary}
            isDangerous={operation.isDestructive}
          />
          {result !== undefined && <Result value={result} />}
        </Dialog>
      )}
    </>
  );
}

/** An answer as it is: a line for each member. */
function Result({ value }: { readonly value: unknown }) {
  const members =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonRecord)
      : { [t.result]: value };
  return (
    <section role="status">
      <h3>{t.result}</h3>
      <dl className="facts">
        {Object.entries(members).map(([name, member]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof member === 'object' ? JSON.stringify(member) : String(member)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
