/** A form made from declared fields. It keeps what was typed whatever the server answers. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { DeclaredField } from '../../src/wire/declared.ts';
import { asRefusal, type Refusal } from '../lib/api.ts';
import { type Faults, faultsOf, type Judged, type Values } from '../lib/forms.ts';
import { t } from '../lib/language.ts';
import { setUnsaved } from '../lib/router.ts';
import { Button, RefusalNote } from './basics.tsx';
import { Field } from './field.tsx';

interface FormProps {
  readonly fields: readonly DeclaredField[];
  readonly values: Values;
  readonly onChange: (values: Values) => void;
  readonly judge: () => Judged;
  /** @param key makes a repeat of the same input harmless. */
  readonly send: (input: Record<string, unknown>, key: string, more: string | undefined) => Promise<void>;
  readonly onCancel: () => void;
  readonly submit: string;
  /** Another way to send, by its name: it is given to `send`. */
  readonly more?: { readonly name: string; readonly label: string };
  readonly isDangerous?: boolean;
  /** Stands between the refusal and the fields. */
  readonly children?: ReactNode;
}

export function Form(props: FormProps) {
  const { fields, values, onChange, judge, send, onCancel, submit, more, isDangerous, children } = props;
  const [faults, setFaults] = useState<Faults>({});
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const key = useRef({ input: '', key: '' });
  useEffect(() => () => setUnsaved(false), []);

  const showFaults = (found: Faults) => {
    setFaults(found);
    // After the fields know their faults.
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
  };
  const submitAs = async (way: string | undefined) => {
    if (isBusy) return;
    setRefusal(null);
    const { input, faults: found } = judge();
    if (Object.keys(found).length > 0) return showFaults(found);
    setBusy(true);
    setFaults({});
    const text = JSON.stringify(input);
    if (key.current.input !== text) key.current = { input: text, key: crypto.randomUUID() };
    try {
      await send(input, key.current.key, way);
    } catch (error) {
      const refused = asRefusal(error);
      const inFields = inOwnWords(faultsOf(refused.problem.errors ?? [], fields), refused);
      setRefusal(Object.keys(inFields).length > 0 ? null : refused);
      // Only a request that did not arrive may be repeated under its key.
      if (refused.problem.status !== 0) key.current = { input: '', key: '' };
      showFaults(inFields);
    } finally {
      setBusy(false);
    }
  };
  const count = Object.keys(faults).length;
  return (
    <form
      ref={form}
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const { submitter } = event.nativeEvent as SubmitEvent;
        void submitAs((submitter as HTMLButtonElement | null)?.value || undefined);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit();
      }}
    >
      {refusal && <RefusalNote refusal={refusal} />}
      {count > 0 && (
        <p className="note bad" role="alert">
          {t.toCorrect(count)}
        </p>
      )}
      {children}
      <div className="fields">
        {fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={values[field.name] ?? (field.kind === 'relation' ? null : '')}
            fault={faults[field.name]}
            onChange={(value) => {
              setUnsaved(true);
              onChange({ ...values, [field.name]: value });
              if (faults[field.name] !== undefined)
                setFaults(Object.fromEntries(Object.entries(faults).filter(([name]) => name !== field.name)));
            }}
          />
        ))}
      </div>
      <div className="row form-end">
        <Button type="submit" look={isDangerous ? 'danger' : 'main'} busy={isBusy}>
          {submit}
        </Button>
        {more && (
          <Button type="submit" value={more.name} busy={isBusy}>
            {more.label}
          </Button>
        )}
        <Button look="quiet" onClick={onCancel}>
          {t.cancel}
        </Button>
      </div>
    </form>
  );
}

/** The refusals that every record has, in the reader's language; others are in the builder's words. */
function inOwnWords(faults: Faults, { problem }: Refusal): Faults {
  return Object.fromEntries(
    Object.entries(faults).map(([name, message]) => {
      if (problem.reason === 'taken') return [name, t.faults.taken];
      return [name, message.startsWith('there is no such ') ? t.faults.gone : message];
    }),
  );
}
