/** One setting of the business: a card that shows it, and the form in which it is changed. */
import { type ReactNode, useState } from 'react';
import type { Answer } from '../lib/api.ts';
import type { Loaded } from '../lib/use-load.ts';
import { Button, Card, LoadError, Skeleton } from './basics.tsx';

/** The properties of a form: the setting, and where to put the new one. */
export interface SettingFormProps<T> {
  present: Answer<T>;
  onClose: () => void;
  onDone: (answer: Answer<T>) => void;
  onTakeNewest: () => void;
}

/** The card. `note` is shown below the setting, loaded or not. */
export function SettingCard<T>({
  title,
  edit,
  mayEdit,
  loaded,
  note,
  form: Form,
  children,
}: {
  title: string;
  /** The label of the button: `Edit rates`. */
  edit: string;
  mayEdit: boolean;
  loaded: Loaded<Answer<T>>;
  note: ReactNode;
  form: (props: SettingFormProps<T>) => ReactNode;
  children: (value: T) => ReactNode;
}) {
  const [editing, setEditing] = useState(false);
  const { data, error, reload, put } = loaded;
  const button = mayEdit && data && (
    <Button icon="pencil" onClick={() => setEditing(true)}>
      {edit}
    </Button>
  );
  return (
    <Card title={title} action={button}>
      {error && <LoadError error={error} retry={reload} />}
      {data ? children(data.value) : <Skeleton lines={2} label={`Loading: ${title}`} />}
      {note}
      {editing && data && (
        <Form
          present={data}
          onClose={() => setEditing(false)}
          onTakeNewest={reload}
          onDone={(answer) => {
            setEditing(false);
            put(answer);
          }}
        />
      )}
    </Card>
  );
}
