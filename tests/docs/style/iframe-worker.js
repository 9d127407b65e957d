// Browsers refuse workers to pages that are read from a disk. There, the worker of the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.connect = (inner) => {
        inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      };
      frame.onload = () => {
        this.inner = frame.contentWindow;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      frame.srcdoc = `<script>frameElement.connect(self)</script><script src="${address}"></script>`;
      document.body.append(frame);
    }

    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
  };
  window.IFrameWorker = window.Worker;
}
