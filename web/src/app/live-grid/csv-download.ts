import { signal } from '@angular/core';
import { exportCsv, type LiveColumn, type LiveView } from '@pointsman/live-table';

/** The rows of a view as a file of the user's. One at a time; `progress` is a text like "40 %", null when idle. */
export class CsvDownload {
  private readonly running = signal<string | null>(null);
  readonly progress = this.running.asReadonly();

  /** Rejects when the rows could not all be read; nothing is saved then. */
  async save(name: string, view: LiveView, columns: readonly LiveColumn[], size: number): Promise<void> {
    if (this.running() !== null) {
      return;
    }
    this.running.set('0 %');
    try {
      download(await exportCsv(view, columns, size, (rows) => this.running.set(`${Math.round((100 * rows) / size)} %`)), name);
    } finally {
      this.running.set(null);
    }
  }
}

function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
